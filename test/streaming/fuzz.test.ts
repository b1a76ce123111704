/** A short run of the fuzzer. `node fuzz/streaming.ts` sends a million messages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzGateway } from '../../fuzz/streaming.ts'

test('generated messages and frames cause no crash, leak or stuck connection', async () => {
  const { messages, frames } = await fuzzGateway(6_000, 20_261_115)
  assert.ok(messages >= 3_000 && frames >= 3_000 - 200)
})
