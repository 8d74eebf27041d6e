"""What sbatch and srun can be asked for: their long options, and which of them take a value.

Source: sbatch(1) and srun(1) of Slurm 22.05, "Options"; later versions added to them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Names without dashes."""

    with_value: frozenset[str]
    with_value_or_none: frozenset[str]
    without_value: frozenset[str]


def _options(with_value: str, with_value_or_none: str, without_value: str) -> Options:
    return Options(*(frozenset(names.split()) for names in (with_value, with_value_or_none, without_value)))


SBATCH = _options(
    """
    account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container
    core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution
    error exclude export export-file extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket
    gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type mail-user mcs-label
    mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output partition power prefer priority profile
    qos reservation signal sockets-per-node switches thread-spec threads-per-core time time-min tmp uid
    wait-all-nodes wckey wrap
    """,
    """
    exclusive get-user-env nice no-kill propagate
    """,
    """
    contiguous help ignore-pbs no-requeue overcommit oversubscribe parsable quiet reboot requeue spread-job
    test-only usage use-min-nodes verbose version wait
    """,
)

SRUN = _options(
    """
    accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint clusters comment
    constraint container core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline
    delay-boot dependency distribution epilog error exclude export extra-node-info gid gpu-bind gpu-freq gpus
    gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name jobid licenses
    mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile
    nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output
    partition power prefer priority profile prolog qos relative reservation signal slurmd-debug sockets-per-node
    switches task-epilog task-prolog thread-spec threads threads-per-core time time-min tmp uid wait wckey
    """,
    """
    bcast compress exclusive immediate kill-on-bad-exit nice no-kill propagate resv-ports send-libs
    """,
    """
    contiguous disable-status exact help label multi-prog no-allocate overcommit overlap oversubscribe
    preserve-env pty quiet quit-on-interrupt reboot spread-job test-only unbuffered usage use-min-nodes verbose
    version
    """,
)
