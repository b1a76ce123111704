/** Property tests of live results: whatever a subscriber has seen, the messages lead it to the state of the result. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BACKGROUND, inTurns } from '../../../packages/server/src/lib/turns.ts'
import { isPosition, PositionSeal } from '../../../packages/server/src/query/live/position.ts'
import { difference, type LiveState, toState } from '../../../packages/server/src/query/live/results/difference.ts'
import { LiveResult } from '../../../packages/server/src/query/live/results/live-result.ts'
import { deriveKey } from '../../support/derived-key.ts'
import { atOnce } from '../../support/steps.ts'
import { Applier } from './applier.ts'
import { listed, SEAL, targetWith } from './result-target.ts'

/** Rows with few keys and few values, so that states have much in common. */
const entries = fc.uniqueArray(fc.tuple(fc.nat(15), fc.nat(3)), { selector: ([key]) => key, maxLength: 14 })
const states = fc.array(entries, { minLength: 1, maxLength: 8 })

function liveState(rows: readonly (readonly [number, number])[], isOrdered: boolean): LiveState {
  const read = rows.map(([key, value]) => ({ key: `[${key}]`, route: '[]', row: `{"k":${key},"v":${value}}` }))
  return atOnce(toState(read, { hasKeys: true, isOrdered }))
}

function wholeRows(values: readonly number[], isOrdered: boolean): LiveState {
  return atOnce(
    toState(
      values.map((value) => ({ key: '', route: '[]', row: `[${value}]` })),
      { hasKeys: false, isOrdered },
    ),
  )
}

function positionsAt(version: number): Map<string, string> {
  return new Map([['t', `${version}.1`]])
}

/** Moves the result from state to state; each client takes part in some of them only. */
async function follow(
  sequence: readonly LiveState[],
  clientSteps: readonly (readonly boolean[])[],
  isOrdered: boolean,
  keyNames: readonly string[] | null,
) {
  const [first, ...next] = sequence
  assert.ok(first !== undefined)
  const result = new LiveResult(targetWith(isOrdered, keyNames), first, positionsAt(1), SEAL)
  const clients = clientSteps.map(() => ({ applier: new Applier(), version: 0 }))
  const snapshot = result.snapshot(false)
  for (const client of clients) {
    for (const { text } of listed(snapshot.messages)) client.applier.apply(text)
    client.version = snapshot.version
  }
  for (const [index, state] of next.entries()) {
    const changes = atOnce(difference(result.state, state))
    result.commit(state, changes, positionsAt(index + 2), 0)
    for (const [number, client] of clients.entries()) {
      if (clientSteps[number]?.[index] === false && index < next.length - 1) continue
      const step = await result.stepFrom(client.version, false)
      for (const { text } of listed(step.messages)) client.applier.apply(text)
      client.version = step.version
      const held = [...result.state.rows.values()].map((row) => JSON.parse(row))
      const wanted = result.state.order?.map((key) => JSON.parse(result.state.rows.get(key) ?? '')) ?? sorted(held)
      assert.deepEqual(isOrdered ? client.applier.rows : sorted(client.applier.rows), wanted)
      assert.equal(SEAL.read(client.applier.position ?? '', result.target)?.version, result.version)
    }
  }
}

function sorted(rows: readonly unknown[]): unknown[] {
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .map((row) => JSON.parse(row))
}

const attendance = fc.array(fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), { minLength: 1, maxLength: 3 })

for (const isOrdered of [false, true]) {
  const order = isOrdered ? 'with order' : 'without order'
  test(`messages lead clients to every state they attend, ${order}`, async () => {
    await fc.assert(
      fc.asyncProperty(states, attendance, async (sequence, steps) => {
        await follow(
          sequence.map((rows) => liveState(rows, isOrdered)),
          steps,
          isOrdered,
          ['k'],
        )
      }),
    )
  })

  test(`rows without keys are distinguished by their occurrence, ${order}`, async () => {
    const values = fc.array(fc.array(fc.nat(3), { maxLength: 10 }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(values, attendance, async (sequence, steps) => {
        await follow(
          sequence.map((rows) => wholeRows(rows, isOrdered)),
          steps,
          isOrdered,
          null,
        )
      }),
    )
  })
}

test('a row that only shifts is not put, and one that moves is put alone', () => {
  const before = liveState(
    [
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
      [5, 0],
    ],
    true,
  )
  const shifted = liveState(
    [
      [9, 0],
      [1, 0],
      [2, 0],
      [4, 0],
      [5, 0],
    ],
    true,
  )
  assert.deepEqual([...atOnce(difference(before, shifted)).keys()], ['[9]', '[3]'])
  const moved = liveState(
    [
      [5, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
    ],
    true,
  )
  assert.deepEqual([...atOnce(difference(before, moved)).keys()], ['[5]'])
})

test('the keys of equal rows stay when one of them goes', () => {
  const three = wholeRows([7, 7, 7, 8], false)
  const two = wholeRows([8, 7, 7], false)
  assert.equal(atOnce(difference(three, two)).size, 1)
})

test('a row that returns to its former value is not sent to those who skipped the change', async () => {
  const result = new LiveResult(
    targetWith(false, ['k']),
    liveState(
      [
        [1, 1],
        [2, 1],
      ],
      false,
    ),
    positionsAt(1),
    SEAL,
  )
  for (const [version, value] of [
    [2, 5],
    [3, 1],
  ] as const) {
    const next = liveState(
      [
        [1, value],
        [2, 1],
      ],
      false,
    )
    result.commit(next, atOnce(difference(result.state, next)), positionsAt(version), 0)
  }
  assert.equal((await result.stepFrom(1, false)).isEmpty, true)
})

test('the history of a result is bounded, and says which versions it covers', () => {
  const result = new LiveResult(targetWith(false, ['k']), liveState([[1, 0]], false), positionsAt(1), SEAL)
  for (let version = 2; version < 3000; version++) {
    const next = liveState([[1, version]], false)
    result.commit(next, atOnce(difference(result.state, next)), positionsAt(version), 0)
  }
  assert.equal(result.covers(1), false)
  assert.equal(result.covers(result.version - 400), true)
  assert.ok(result.bytes < 200_000)
})

test('a change of a thousand times the size of a piece arrives in pieces', async () => {
  const text = 'x'.repeat(3000)
  const read = Array.from({ length: 300 }, (_, key) => ({ key: `[${key}]`, route: '[]', row: `{"t":"${text}"}` }))
  const full = atOnce(toState(read, { hasKeys: true, isOrdered: false }))
  const result = new LiveResult(targetWith(false, ['k']), liveState([], false), positionsAt(1), SEAL)
  const applier = new Applier()
  for (const message of listed(result.snapshot(false).messages)) applier.apply(message.text)
  result.commit(full, atOnce(difference(result.state, full)), positionsAt(2), 0)
  const { messages } = await result.stepFrom(1, false)
  assert.ok(listed(messages).length > 3)
  const counted = listed(messages).reduce((sum, { put, removed }) => sum + put + removed, 0)
  assert.equal(counted, 300)
  for (const message of listed(messages)) applier.apply(message.text)
  assert.equal(applier.size, 300)
})

test('positions are read again, whatever their length, and only by the result that they are of', () => {
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[0-9:,]{1,150}\.[0-9]{1,9}$/), { maxLength: 6 }),
      fc.integer({ min: 1, max: 2 ** 40 }),
      (parts, version) => {
        const tables = parts.map((_, index) => `t${index}`)
        const positions = new Map(tables.map((table, index) => [table, parts[index] ?? '']))
        const of = { fingerprint: 'this', tables }
        const told = { resultId: 'abcdef012345', version, tables: positions }
        const text = SEAL.write(told, of)
        assert.ok(text.length <= 512 && isPosition(text))
        const read = SEAL.read(text, of)
        assert.deepEqual([read?.resultId, read?.version], [told.resultId, version])
        if (read?.tables !== undefined) assert.deepEqual(read.tables, positions)
        else assert.ok(parts.join('').length > 300, 'only long positions are left out')
        assert.equal(SEAL.read(text, { ...of, fingerprint: 'another' }), undefined)
        assert.equal(SEAL.read(text, { ...of, tables: [...tables, 'more'] })?.tables, undefined)
      },
    ),
  )
})

test('a position is opened by every node with the same key, on later days too, and not when it was changed', () => {
  let time = Date.parse('2026-03-01T23:59:59Z')
  const [here, there] = [new PositionSeal(deriveKey, () => time), new PositionSeal(deriveKey, () => time)]
  const stranger = new PositionSeal(
    (purpose) => deriveKey(`another ${purpose}`),
    () => time,
  )
  const of = { fingerprint: 'this', tables: ['t'] }
  const told = { resultId: 'abcdef012345', version: 7, tables: positionsAt(7) }
  const text = here.write(told, of)
  time += 3 * 86_400_000
  assert.deepEqual(there.read(text, of), told)
  assert.equal(stranger.read(text, of), undefined)
  for (let at = 0; at < text.length; at++) {
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
    assert.equal(there.read(changed, of), undefined, `changed at ${at}`)
  }
})

test('a position shows neither how much was written nor how many digits that has', () => {
  const of = { fingerprint: 'this', tables: ['t'] }
  const texts = [1, 2, 9999, 10_000, 123_456_789].map((seq) =>
    SEAL.write({ resultId: 'abcdef012345', version: 1, tables: new Map([['t', `${seq}.1abcdef`]]) }, of),
  )
  assert.equal(new Set(texts.map((text) => text.length)).size, 1)
  for (const text of texts) {
    const bytes = Buffer.from(text, 'base64url')
    for (const seq of ['9999', '10000', '123456789', '1abcdef']) assert.equal(bytes.includes(seq), false)
  }
  assert.equal(new Set(texts).size, texts.length)
})

test('texts that cannot be a position are recognised', () => {
  for (const text of ['', 'x', 'AAAA', '!', 'A'.repeat(513), 'ä'.repeat(40)])
    assert.equal(isPosition(text), false, text)
})

test('a snapshot is encoded as it is read, and stays as it was when the result changes', () => {
  const rows = (mark: string) =>
    Array.from({ length: 100 }, (_, key) => ({ key: `[${key}]`, route: '[]', row: `{"t":"${mark.repeat(5000)}"}` }))
  const stateWith = (mark: string) => atOnce(toState(rows(mark), { hasKeys: true, isOrdered: false }))
  const result = new LiveResult(targetWith(false, ['k']), stateWith('a'), positionsAt(1), SEAL)
  const { messages, version } = result.snapshot(false)
  messages.open()
  const applier = new Applier()
  applier.apply(messages.at(0).text)
  assert.equal(messages.bytes, 0)
  for (const [mark, at] of [
    ['b', 2],
    ['c', 3],
  ] as const) {
    const updates = new Map(rows(mark).map(({ key, row }) => [key, row]))
    atOnce(result.apply(updates, positionsAt(at), { at: 0, isWanted: () => true }))
  }
  assert.ok(messages.bytes > 500_000, 'it has the memory of the state that it keeps')
  for (let index = 1; messages.has(index); index++) applier.apply(messages.at(index).text)
  messages.close()
  assert.deepEqual(new Set(applier.rows.map((row) => JSON.stringify(row))), new Set([`{"t":"${'a'.repeat(5000)}"}`]))
  assert.equal(SEAL.read(applier.position ?? '', result.target)?.version, version)
})

test('a snapshot with at most some rows has the first ones, in one piece, and the position of all', () => {
  for (const isOrdered of [false, true]) {
    const state = liveState(
      Array.from({ length: 5000 }, (_, index) => [5000 - index, index]),
      isOrdered,
    )
    const result = new LiveResult(targetWith(isOrdered, ['k']), state, positionsAt(1), SEAL)
    const [first, ...others] = listed(result.snapshot(false, 3).messages)
    assert.ok(first !== undefined && others.length === 0)
    assert.deepEqual([first.put, first.removed], [3, 0])
    const { Put: put } = JSON.parse(first.text) as { Put: { Key: number[] }[] }
    assert.deepEqual(
      put.map(({ Key: key }) => key),
      [[5000], [4999], [4998]],
    )
    assert.equal(SEAL.read(first.position ?? '', result.target)?.version, 1)
    assert.equal(listed(result.snapshot(false, 0).messages)[0]?.put, 0)
    const { messages } = result.snapshot(false)
    assert.equal(result.snapshot(false, 5000).messages, messages, 'all rows are shared')
    const counted = listed(messages).reduce((sum, message) => sum + message.put, 0)
    assert.equal(counted, 5000)
  }
})

test('long work lets other work in between', async () => {
  const read = Array.from({ length: 100_000 }, (_, key) => ({
    key: `[${key}]`,
    route: '[]',
    row: `{"some text":${key}}`,
  }))
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  turn()
  const before = await inTurns(toState(read, { hasKeys: true, isOrdered: true }), BACKGROUND)
  const after = await inTurns(toState(read.toReversed(), { hasKeys: true, isOrdered: true }, before), BACKGROUND)
  const afterStates = turns
  const changes = await inTurns(difference(before, after), BACKGROUND)
  const afterDifference = turns
  const result = new LiveResult(targetWith(true, ['k']), before, positionsAt(1), SEAL)
  result.commit(after, changes, positionsAt(2), 0)
  await result.stepFrom(1, false)
  isDone = true
  assert.equal(changes.size, 99_999, 'one row stays, and all others have moved')
  // Each takes tens of milliseconds at least, and a slice five.
  assert.ok(
    afterStates > 3 && afterDifference - afterStates > 2 && turns - afterDifference > 2,
    `${afterStates}, ${afterDifference}, ${turns}`,
  )
})

test('a few long rows let other work in between too', async () => {
  const row = `{"t":"${'x'.repeat(200_000)}"}`
  const rows = (mark: string) =>
    Array.from({ length: 300 }, (_, key) => ({ key: `[${key}]`, route: '[]', row: row.replace('x', mark) }))
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  turn()
  const countTurns = async <Result>(work: () => Result | Promise<Result>) => {
    const before = turns
    const result = await work()
    return { result, turns: turns - before }
  }
  const first = await countTurns(() => inTurns(toState(rows('a'), { hasKeys: true, isOrdered: false }), BACKGROUND))
  const result = new LiveResult(targetWith(false, ['k']), first.result, positionsAt(1), SEAL)
  const next = atOnce(toState(rows('b'), { hasKeys: true, isOrdered: false }))
  result.commit(next, atOnce(difference(result.state, next)), positionsAt(2), 0)
  const change = await countTurns(() => result.stepFrom(1, false))
  isDone = true
  for (const [name, { turns }] of Object.entries({ first, change }))
    assert.ok(turns >= 2, `${turns} turns of others while 60 MB were worked on: ${name}`)
})
