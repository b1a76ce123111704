/** A node:test reporter for the conformance results: one JSON line for each finished test. */
import type { TestEvent } from 'node:test/reporters'

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite') continue
    const result = type === 'test:fail' ? 'failed' : data.skip === undefined ? 'passed' : 'skipped'
    yield `${JSON.stringify({ name: data.name, file: data.file, result })}\n`
  }
}
