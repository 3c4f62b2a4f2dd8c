"""What the project is made of: pinned versions with hashes, licences, known vulnerabilities, the bill of materials."""
