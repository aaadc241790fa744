/* nature.c - interfaces that containers, virtual machines and tunnels have made: by the
 * kernel's kind, and by the names their programs give. */
#include <fnmatch.h>
#include <string.h>

#include "topology/judge.h"

typedef struct sign {
    const char *pattern;
    rondo_objection objection;
} sign;

#define CONTAINER(text)                   \
    {                                     \
        RONDO_INTERFACE_CONTAINER, (text) \
    }
#define VIRTUAL(text)                   \
    {                                   \
        RONDO_INTERFACE_VIRTUAL, (text) \
    }
#define HEX  "[0-9a-f]"
#define HEX4 HEX HEX HEX HEX

/* By the kernel's kind. A veth is none of them: seen from inside, a container's own
 * interface is one. */
static const sign kinds[] = {
    {"vxlan", VIRTUAL("is a tunnel (vxlan)")},
    {"geneve", VIRTUAL("is a tunnel (geneve)")},
    {"gre", VIRTUAL("is a tunnel (gre)")},
    {"gretap", VIRTUAL("is a tunnel (gre)")},
    {"ip6gre*", VIRTUAL("is a tunnel (gre)")},
    {"ipip", VIRTUAL("is a tunnel (ipip)")},
    {"sit", VIRTUAL("is a tunnel (sit)")},
    {"ip6tnl", VIRTUAL("is a tunnel (ip6tnl)")},
    {"vti*", VIRTUAL("is a tunnel (ipsec)")},
    {"xfrm", VIRTUAL("is a tunnel (ipsec)")},
    {"tun", VIRTUAL("is a tunnel or tap of a program")},
    {"wireguard", VIRTUAL("is a tunnel (WireGuard)")},
    {"dummy", VIRTUAL("is a dummy: nothing leaves the host through it")},
};

/* By the name, on the host's side. */
static const sign names[] = {
    {"docker*", CONTAINER("is Docker's bridge")},
    {"br-" HEX4 HEX4 HEX4, CONTAINER("is a bridge of a Docker network")},
    {"podman*", CONTAINER("is Podman's bridge")},
    {"nerdctl*", CONTAINER("is a bridge of containers (nerdctl)")},
    {"virbr*", CONTAINER("is libvirt's bridge of virtual machines")},
    {"vnet[0-9]*", CONTAINER("leads to a virtual machine")},
    {"lxcbr*", CONTAINER("is the bridge of LXC containers")},
    {"lxdbr*", CONTAINER("is the bridge of LXD containers")},
    {"incusbr*", CONTAINER("is the bridge of Incus containers")},
    {"veth*", CONTAINER("leads to a container")},
    {"cni*", CONTAINER("is the bridge of containers (CNI)")},
    {"cali*", CONTAINER("leads to a container (Calico)")},
    {"vxlan.calico", VIRTUAL("is the tunnel between containers (Calico)")},
    {"flannel*", VIRTUAL("is the tunnel between containers (flannel)")},
    {"cilium*", CONTAINER("belongs to containers (Cilium)")},
    {"lxc*", CONTAINER("leads to a container")},
    {"weave*", CONTAINER("belongs to containers (Weave)")},
    {"antrea-*", CONTAINER("belongs to containers (Antrea)")},
    {"ovn-k8s-*", CONTAINER("belongs to containers (OVN)")},
    {"kube-*", CONTAINER("belongs to Kubernetes' services")},
    {"nodelocaldns", CONTAINER("belongs to Kubernetes' name service")},
    {"vmnet*", CONTAINER("leads to virtual machines (VMware)")},
    {"vboxnet*", CONTAINER("leads to virtual machines (VirtualBox)")},
    {"tailscale*", VIRTUAL("is a tunnel (Tailscale)")},
    {"zt*", VIRTUAL("is a tunnel (ZeroTier)")},
    {"wg*", VIRTUAL("is a tunnel (WireGuard, by its name)")},
    {"tun*", VIRTUAL("is a tunnel, by its name")},
    {"tap*", VIRTUAL("is a tap of a program, by its name")},
};

static const sign *
find(const sign *signs, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (fnmatch(signs[i].pattern, text, 0) == 0) {
            return &signs[i];
        }
    }
    return NULL;
}

/* A bridge with hardware on it is how a host of virtual machines reaches the world; one
 * with nothing but veth pairs and taps leads to what is inside. */
static bool
is_inner_bridge(const rondo_network_facts *facts, const rondo_link *link)
{
    bool any = false;

    if (strcmp(link->kind, "bridge") != 0) {
        return false;
    }
    for (uint32_t i = 0; i < facts->nlinks; i++) {
        const rondo_link *const part = &facts->links[i];

        if (part->master != link->index) {
            continue;
        }
        if (strcmp(part->kind, "veth") != 0 && strcmp(part->kind, "tun") != 0) {
            return false;
        }
        any = true;
    }
    return any;
}

rondo_objection
rondo_link_objection(const rondo_network_facts *facts, const rondo_link *link)
{
    const sign *found = find(names, sizeof names / sizeof names[0], link->name);

    if (found == NULL && link->kind[0] != '\0') {
        found = find(kinds, sizeof kinds / sizeof kinds[0], link->kind);
    }
    if (found != NULL) {
        return found->objection;
    }
    if (is_inner_bridge(facts, link)) {
        return (rondo_objection)CONTAINER(
            "is a bridge with only containers or virtual machines on it");
    }
    return (rondo_objection){RONDO_INTERFACE_USABLE, ""};
}
