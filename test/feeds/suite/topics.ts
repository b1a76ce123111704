/** Tests of every engine: names of topics, and lists of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FeedStore, StoredTopic } from '../../../packages/server/src/feeds/engine.ts'
import { topicFault } from '../../../packages/server/src/feeds/feed.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { below, HISTORY, LATEST, only, publish, readAll, show, type Workbench } from './engine-under-test.ts'

const ODD = [
  ...['%', '_', '%%', '\\', '\\%', "'", "''", '"', '`', '$1', '?', ':a', '--', ';', '//', '/', '.', '..'],
  ...[
    '>',
    'a.>',
    'a..b',
    '.a',
    'a.',
    '$SYS',
    ' ',
    '  ',
    ' a',
    'a ',
    'a b',
    '=',
    '&',
    '#',
    '+',
    '|',
    '~',
    '{}',
    '[]',
    '()',
  ],
  ...['Case', 'case', 'CASE', 'straße', 'STRASSE', 'é', 'e\u0301', '\u200b', '\ufeff', '\u{1f642}', '\uffff', '\ud7ff'],
  ...['null', 'undefined', '__proto__', 'constructor', '0', '-1', 'x'.repeat(256), '漢'.repeat(256)],
]

export function declareTopics(use: () => Workbench): void {
  describe('topics', () => {
    test('topics with odd characters are apart from one another', async () => {
      for (const kind of [HISTORY, LATEST]) {
        const store = await use().create(kind)
        await store.append(ODD.map((topic, index) => ({ topic, data: String(index) })))
        for (const [index, topic] of ODD.entries()) {
          assert.equal(topicFault(topic), undefined)
          assert.deepEqual(show(await store.readLast(only(topic), 5)), [`${topic}=${index}`])
        }
        assert.deepEqual(await listNames(store), sorted(ODD))
        for (const prefix of ['%', '_', 'a', 'a.', 'C', '\\', "'", 'é']) {
          const expected = ODD.filter((topic) => topic.startsWith(prefix))
          assert.deepEqual(await listNames(store, prefix), sorted(expected))
          assert.deepEqual(
            (await readAll(store, below(prefix))).messages.map(({ topic }) => topic),
            expected,
          )
        }
      }
    })

    test('every character that a topic may have', async () => {
      const store = await use().create(LATEST)
      const topics = everyCharacter(IS_LONG_RUN ? 0x10ffff : 0x105ff)
      for (let at = 0; at < topics.length; at += 500)
        await store.append(topics.slice(at, at + 500).map((topic) => ({ topic, data: '1' })))
      assert.deepEqual(await listNames(store), sorted(topics))
    })

    test('lists are pages by name, with what each topic holds', async () => {
      const store = await use().create(HISTORY)
      const { time } = await publish(store, 'b=1', 'a/1=1', 'a/2=1', 'a/2=2', 'B=1', 'a/3=1')
      assert.deepEqual(await store.listTopics({ prefix: 'a/', after: undefined, limit: 2 }), [
        { topic: 'a/1', time, messages: 1 },
        { topic: 'a/2', time, messages: 2 },
      ])
      assert.deepEqual(await store.listTopics({ prefix: 'a/', after: 'a/2', limit: 2 }), [
        { topic: 'a/3', time, messages: 1 },
      ])
      assert.deepEqual(await store.listTopics({ prefix: 'a/', after: 'a/3', limit: 2 }), [])
      assert.deepEqual(await listNames(store, '', 1), ['B', 'a/1', 'a/2', 'a/3', 'b'])
      await publish(store, 'a/2')
      assert.deepEqual(await listNames(store, 'a/'), ['a/1', 'a/3'])
    })

    test('of a topic with a bounded history the list counts what is kept', async () => {
      const store = await use().create({ ...HISTORY, history: { messages: 2, time: 3_600_000 } })
      await publish(store, 'a=1', 'a=2', 'a=3')
      assert.equal((await store.listTopics({ prefix: '', after: undefined, limit: 2 }))[0]?.messages, 2)
    })
  })
}

/** Those of all pages. */
async function listNames(store: FeedStore, prefix = '', limit = 700): Promise<string[]> {
  const names: string[] = []
  for (;;) {
    const page: readonly StoredTopic[] = await store.listTopics({ prefix, after: names.at(-1), limit })
    names.push(...page.map(({ topic }) => topic))
    if (page.length < limit) return names
  }
}

/** By code points, which is also the order of the bytes in UTF-8. */
function sorted(topics: readonly string[]): string[] {
  return topics.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

function everyCharacter(last: number): string[] {
  const topics: string[] = []
  let topic = ''
  for (let code = 0; code <= last; code++) {
    const character = String.fromCodePoint(code)
    if (!character.isWellFormed() || topicFault(character) !== undefined) continue
    if (topic.length + character.length > 256) {
      topics.push(topic)
      topic = ''
    }
    topic += character
  }
  return [...topics, topic]
}
