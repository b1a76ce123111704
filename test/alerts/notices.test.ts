/** Notices are bounded, whatever rows and templates have and however many are joined, and keep the digits of numbers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildNotice, type NoticedInstance } from '../../packages/server/src/alerts/build-notice.ts'
import { joinNotices } from '../../packages/server/src/alerts/deliver/join.ts'
import { readNotice } from '../../packages/server/src/alerts/notice.ts'
import { pushBody } from '../../packages/server/src/alerts/push/send.ts'
import { webhookBody } from '../../packages/server/src/alerts/webhook/formats.ts'
import { rawNumber } from '../../packages/server/src/lib/exact-json.ts'
import type { AlertDelivery } from '../../packages/server/src/query/index.ts'
import { toAlertDefinition } from '../../packages/server/src/resources/alert-shape.ts'
import type { Alert } from '../../packages/server/src/store/alerts/alert.ts'

const MOST_BYTES = 64 * 1024

function buildFor(rows: readonly object[], members: object = {}) {
  const alert: Alert = {
    ...{ id: 'a', owner: 'user-1', name: 'A', version: 1, created: 0, updated: 0 },
    rights: { clientId: '', scopes: [], consented: false },
    definition: toAlertDefinition({ name: 'A', statement: 'SELECT 1', ...members }),
  }
  const instances = rows.map(
    (row, index): NoticedInstance => ({ key: `["${index}"]`, state: 'firing', since: 0, row: JSON.stringify(row) }),
  )
  const url = 'https://gate.example.com/console/alerts/a'
  return buildNotice(alert, { type: 'alert.firing', instances, now: 0, url })
}

function store(notice: object): AlertDelivery {
  return {
    ...{ id: 'd', alert: 'a', channel: 'hook', sequence: 1, state: 'waiting', created: 0, next_at: 0, ended: null },
    ...{ attempts: 0, status: null, error: null, joined: 0, notice: JSON.stringify(notice) },
  }
}

for (const [what, text] of [
  ['long rows', 'x'.repeat(3_000)],
  ['quotes, which JSON escapes', '"'.repeat(3_000)],
  ['letters of several bytes', '語'.repeat(3_000)],
] as const)
  test(`a body has 64 KiB at most, and a push message what a push service takes: ${what}`, () => {
    const rows = Array.from({ length: 60 }, () => ({ text }))
    const notice = buildFor(rows, { title: '{{text}} '.repeat(100), text: '{{text}}\n'.repeat(400) })
    const { title, instances, more } = notice.data
    assert.ok(Buffer.byteLength(webhookBody(notice, 'standard')) <= MOST_BYTES)
    assert.ok(instances.length > 0)
    assert.equal(instances.length + more, 60)
    assert.equal(title.length, 300)
    assert.ok(pushBody(notice).length <= 3_993)
  })

test('notices that are joined have 64 KiB at most, and the latest states', () => {
  let delivery = store(buildFor([]))
  for (let each = 0; each < 40; each++) {
    const next = buildFor([{ text: 'x'.repeat(10_000) }])
    const instances = next.data.instances.map((instance) => ({ ...instance, key: [each] }))
    delivery = joinNotices(delivery, { ...next, data: { ...next.data, instances } })
  }
  const { instances, more, joined } = readNotice(delivery.notice).data
  assert.ok(Buffer.byteLength(delivery.notice) <= MOST_BYTES)
  assert.deepEqual([instances.at(-1)?.key, instances.length + more, joined], [[39], 40, 40])
})

test('integers that a double cannot hold keep their digits, also when notices are stored and joined', () => {
  const row = { n: rawNumber('9007199254740993') }
  const notice = buildFor([row])
  const stored = readNotice(JSON.stringify(notice))
  assert.match(webhookBody(stored, 'standard'), /"n":9007199254740993[,}]/)
  assert.equal(stored.data.more, 0)
  const joined = joinNotices(store(notice), buildFor([]))
  assert.match(joined.notice, /"n":9007199254740993[,}]/)
})
