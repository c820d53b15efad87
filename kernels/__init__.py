"""Operations of the decode step and the kernels that compute them: a folder an operation, a file a kernel."""
