"""The peer of rondo-train: PyTorch on Fashion-MNIST, the same network and batch, one
thread for each process; DistributedDataParallel over Gloo where there are several.

usage: torch_train.py EPOCHS BATCH_PER_RANK      (RANK, WORLD_SIZE, MASTER_*: environment)
Prints the images per second of the training loop, all ranks together."""
import gzip
import os
import sys
import time

import numpy
import torch

DATA = "/usr/share/datasets/fashion-mnist/train"


def array(name, header):
    with gzip.open(f"{DATA}-{name}-ubyte.gz") as file:
        return numpy.frombuffer(file.read(), numpy.uint8)[header:].copy()


def network():
    layers = []
    for inputs, outputs in ((784, 256), (256, 128), (128, 10)):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def main():
    epochs, batch = int(sys.argv[1]), int(sys.argv[2])
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images = torch.from_numpy(array("images-idx3", 16)).view(-1, 784).float() / 255
    images = (images - 0.2860) / 0.3530
    labels = torch.from_numpy(array("labels-idx1", 8)).long()
    net = network()
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        net = torch.nn.parallel.DistributedDataParallel(net)
    descent = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
    done, start = 0, time.monotonic()
    for epoch in range(epochs):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for mine in order[rank::ranks].split(batch)[:len(images) // ranks // batch]:
            descent.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(images[mine]), labels[mine])
            loss.backward()
            descent.step()
            done += len(mine)
    if rank == 0:
        print(f"{done * ranks / (time.monotonic() - start):.0f}")


if __name__ == "__main__":
    main()
