"""One BLAS thread while members train."""

import threading

import pytest
from ensembles import X, Y, ensemble
from threadpoolctl import threadpool_info


@pytest.mark.needs_compiled
def test_fits_at_the_same_time_leave_the_blas_threads_as_they_were():
    def n_threads():
        return [pool["num_threads"] for pool in threadpool_info()]

    before = n_threads()
    fits = [threading.Thread(target=ensemble(3).fit, args=(X, Y)) for _ in range(4)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    assert n_threads() == before
