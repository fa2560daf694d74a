"""statuspage-prometheus-exporter: makes metrics of summary.json of Statuspage. One run of its program writes a file."""

import json
import os
import subprocess
import sys
import tempfile

from prometheus_client.parser import text_string_to_metric_families

from checks import CREDENTIALS, equal, run


def scrape(page):
    with tempfile.TemporaryDirectory() as folder:
        services, metrics = os.path.join(folder, "services.json"), os.path.join(folder, "metrics.prom")
        with open(services, "w", encoding="utf-8") as file:
            json.dump({"acme": {"name": "Acme", "url": page + "/api/v2/summary.json"}}, file)
        subprocess.run([sys.executable, "-m", "statuspage_prometheus_exporter.status_monitoring"], cwd=folder, check=True, timeout=60,
                       stderr=subprocess.DEVNULL, env={**os.environ, "RUN_MODE": "once", "SERVICES_JSON_PATH": services, "METRICS_TEXTFILE_PATH": metrics})
        with open(metrics, encoding="utf-8") as file:
            return [sample for family in text_string_to_metric_families(file.read()) for sample in family.samples]


def metrics():
    """one run"""
    samples = scrape(CREDENTIALS["baseUrl"])

    def found(name, *labels):
        return sorted(tuple(s.labels[label] for label in labels) + (s.value,) for s in samples if s.name == name)

    equal(found("statuspage_probe_check"), [(1,)], "the check succeeded")
    equal(found("statuspage_service_status"), [(0,)], "status")
    equal(found("statuspage_component_status", "component_name"), [("API", 0), ("Core", 0), ("Mail", 0), ("Website", 1)], "components")
    equal(found("statuspage_incident_info", "incident_name", "impact", "affected_components"),
          [("Requests to the API fail", "critical", "API", 1), ("Slow mail", "none", "", 1)], "incidents")
    equal(found("statuspage_maintenance_info", "maintenance_id", "scheduled_start", "affected_components"),
          [(f"019d0000-0000-7000-8000-{n:012d}", "2026-03-30T01:00:00Z", "Mail", 1) for n in (50, 52, 53)], "maintenances")


if __name__ == "__main__":
    run("statuspage-prometheus-exporter", [metrics])
