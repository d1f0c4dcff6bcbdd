"""The paper's three studies, in resumable runs."""
