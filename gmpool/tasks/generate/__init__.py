"""Molecule generation: MolGAN with the pooling of its discriminator exchanged."""
