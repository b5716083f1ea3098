"""The Weisfeiler-Lehman subtree kernel with an SVM, beside the networks of classification."""
