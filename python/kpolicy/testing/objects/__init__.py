"""The objects of the embedded control plane: how they are stored, admitted, changed and shown."""
