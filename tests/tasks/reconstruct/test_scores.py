from gmpool.tasks.reconstruct.scores import published_error


def test_published_errors() -> None:
    assert published_error("grid", "mincut", "a", "error_a") == 0.0051
    assert published_error("grid", "diffpool", "x", "error_x") == 0.0833
    assert published_error("ring(n=20)", "gmt", "x", "error_x") is None
    assert published_error("ring", "topk", "x", "error_x") is None
