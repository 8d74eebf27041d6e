"""Every synchronisation model by name. A new one is a file in this folder and a line here."""

from __future__ import annotations

from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.policies.adsp import Adsp
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.aw_psp import AwPsp
from sparsync.experiments.policies.backup import Backup
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.dedloc import Dedloc
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.experiments.policies.dssp import Dssp, DsspPrinted
from sparsync.experiments.policies.dybw import DynamicBackupWorkers
from sparsync.experiments.policies.elastic_bsp import ElasticBsp
from sparsync.experiments.policies.lb_bsp import LbBsp
from sparsync.experiments.policies.local_sgd import LocalSgd
from sparsync.experiments.policies.osp import Osp
from sparsync.experiments.policies.parameter_database import ParameterDatabase
from sparsync.experiments.policies.psp import Pbsp, Pssp
from sparsync.experiments.policies.selsync import SelSync
from sparsync.experiments.policies.smooth_switch import SmoothSwitch
from sparsync.experiments.policies.ssp import Ssp
from sparsync.experiments.policies.sync_switch import SyncSwitch

POLICIES: dict[str, type[Policy]] = {
    "bsp": Bsp,
    "asp": Asp,
    "ssp": Ssp,
    "dssp": Dssp,
    "dssp_printed": DsspPrinted,
    "elastic_bsp": ElasticBsp,
    "pbsp": Pbsp,
    "pssp": Pssp,
    "aw_psp": AwPsp,
    "adsp": Adsp,
    "osp": Osp,
    "selsync": SelSync,
    "smooth_switch": SmoothSwitch,
    "sync_switch": SyncSwitch,
    "local_sgd": LocalSgd,
    "backup": Backup,
    "lb_bsp": LbBsp,
    "parameter_database": ParameterDatabase,
    "dedloc": Dedloc,
    "dybw": DynamicBackupWorkers,
    "ds_sync": DsSync,
}
