"""What is maximised: kernels on pairs of samples, Gamma, HSIC, J and its derivatives."""
