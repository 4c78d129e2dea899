"""The report on a table that is not a study's trials: one self-contained HTML page, which needs no network."""

from analysis.data.data_file_reader import columns_in_words
from analysis.report.formatting import minute, shown
from analysis.report.html import environment
from analysis.report.methods_section import methods_of_data
from analysis.report.planned_section import planned_section
from analysis.report.summary import summary_sentences
from analysis.result import TableAnalysis
from analysis.sentences import count


def render_table_report(title: str, analysis: TableAnalysis) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    title : str
        Title of the report.
    analysis : TableAnalysis
        The results.
    """
    data, provenance = analysis.data, analysis.provenance
    plan, software_version = provenance.plan, provenance.software_version
    made_at = minute(provenance.made_at)
    return (
        environment()
        .get_template("table_report.html")
        .render(
            title=title,
            software_version=software_version,
            made_at=made_at,
            file=provenance.data,
            summary=summary_sentences(analysis.planned, plan, registration=analysis.registration),
            data_words=f"{count(len(data), 'row')}, {count(len(data.columns), 'column')}, from {provenance.data}.",
            columns=shown(columns_in_words(data)),
            registration=analysis.registration,
            comparisons=[],
            has_unplanned=False,
            planned=planned_section(analysis.planned, plan, analysis.figures_of_plan, analysis.registration),
            notes=analysis.notes,
            methods=methods_of_data(plan, analysis.planned, software_version),
            rules=[],
            provenance_rows=[
                ("Data", [provenance.data]),
                ("Data (SHA-256)", [provenance.data_sha256]),
                ("Software", [f"Equipoise {software_version}"]),
                ("Made", [made_at]),
            ],
        )
    )
