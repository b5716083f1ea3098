"""The Weisfeiler-Lehman subtree kernel with an SVM, beside the networks of classification."""

from gmpool.tasks.task import TASKS
from gmpool.tasks.wl_kernel.task import WLKernel

TASKS.register(WLKernel.name)(WLKernel())
