"""A type of step for ralph that fails if a document has too many words."""

import asyncio

from ralph_tui.engine.steps.step_type import StepJob, StepResult, done, failed


class WordCount:
    """Fails if the file in `options.file` has more than `options.most` words."""

    async def run(self, job: StepJob) -> StepResult:
        """Count the words. An exception, such as for a missing file, also makes the step fail."""
        name = str(job.options.get("file", "README.md"))
        most = int(str(job.options.get("most", 500)))
        text = await asyncio.to_thread((job.root / name).read_text, encoding="utf-8")
        words = len(text.split())
        if words > most:
            return failed(f"{name} has {words} words, {words - most} too many")
        return done(f"{name} has {words} words")
