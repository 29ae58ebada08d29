"""What runs a training with PyTorch, whose import takes seconds: the command imports it when it is called."""
