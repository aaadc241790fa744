/* match.h - which receive belongs to which send, which wait to which signal. */
#ifndef VERIFY_MATCH_H
#define VERIFY_MATCH_H

#include "verify/proof.h"

/* rondo_match_messages - channel by channel: the i-th send is the i-th receive. */
RONDO_MUST_USE rondo_status
rondo_match_messages(rondo_proof *proof);

/* rondo_match_signals - by number, within a collective. */
RONDO_MUST_USE rondo_status
rondo_match_signals(rondo_proof *proof);

#endif /* VERIFY_MATCH_H */
