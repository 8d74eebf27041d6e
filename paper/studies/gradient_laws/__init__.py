"""How are gradients distributed over training, without error feedback and with it?"""
