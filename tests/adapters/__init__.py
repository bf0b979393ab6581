"""Tests of adapters; the suites that several adapters share explain a failure as test files do."""

import pytest

pytest.register_assert_rewrite("tests.adapters.cluster_suite")
