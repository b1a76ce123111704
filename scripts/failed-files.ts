/** A reporter for node --test that writes the path of each file with a failed test, a line each, and END after all of them. */
import type { EventData } from 'node:test'

/** Absent when the run was ended by something else. */
export const END = 'end'

type TestEvent = { readonly type: string; readonly data: unknown }

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue
    const { file, success } = data as EventData.TestSummary
    // The last summary is that of the whole run.
    if (file === undefined) yield `${END}\n`
    else if (!success) yield `${file}\n`
  }
}
