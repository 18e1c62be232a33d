"""Computes pi as pi.c does, with mpi4py."""
from mpi4py import MPI

STEPS = 1000000

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()

width = 1 / STEPS
mine = sum(width * 4 / (1 + ((step + 0.5) * width)**2) for step in range(rank, STEPS, size))
pi = world.reduce(mine, root=0)
print(f"rank {rank} of {size} on {MPI.Get_processor_name()} adds {mine:.8f}")
if rank == 0:
    print(f"pi is {pi:.8f}")
