/** A reporter for node --test that writes the path of each file with a failed test, a line each. */
import type { EventData } from 'node:test'

type TestEvent = { readonly type: string; readonly data: unknown }

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue
    const { file, success } = data as EventData.TestSummary
    // The last summary is that of the whole run, and has no file.
    if (file !== undefined && !success) yield `${file}\n`
  }
}
