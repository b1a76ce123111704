/** A reporter for node --test that writes a line for each file: whether it passed, and how long it took; and END after all of them. */
import type { EventData } from 'node:test'

/** Absent when the run was ended by something else. */
export const END = 'end'

export interface FileResult {
  readonly file: string
  readonly passed: boolean
  readonly milliseconds: number
}

type TestEvent = { readonly type: string; readonly data: unknown }

export default async function* fileResults(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary') continue
    const { file, success, duration_ms } = data as EventData.TestSummary
    // The last summary is that of the whole run.
    if (file === undefined) yield `${END}\n`
    else yield `${JSON.stringify({ file, passed: success, milliseconds: duration_ms } satisfies FileResult)}\n`
  }
}
