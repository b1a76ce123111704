/** One topic: its newest message, its history, and its removal. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { GatehouseError } from '../../../../../client/src/index.ts'
import { confirmAndAttempt } from '../../../admin/tagged.ts'
import { gate } from '../../../gate.ts'
import { go, href } from '../../../shell/router.ts'
import { Await, Code, Copy, count, IconButton, Menu, Segments, useLoad } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { JsonLine } from '../json-line.tsx'
import { itemTexts, memberTexts } from '../json-text.ts'
import { pretty } from '../message-text.ts'
import { type FeedInfo, isStored, topicPath } from './feed.ts'
import { PublishedTime } from './published-time.tsx'
import { useEscape } from './use-escape.ts'
import type { TopicRow } from './use-topics.ts'

interface KeptMessage {
  readonly time: string
  readonly data: string
  readonly position: string
}

interface Props {
  readonly info: FeedInfo
  readonly topic: string
  /** Undefined while it is not listed. */
  readonly row: TopicRow | undefined
  readonly onRemoved: () => void
  readonly onClose: () => void
}

export function TopicPanel({ info, topic, row, onRemoved, onClose }: Props) {
  const id = useId()
  useEscape(onClose)
  const remove = async () => {
    const isDone = await confirmAndAttempt(
      {
        title: `Remove ${topic}?`,
        text:
          info.history === undefined
            ? 'Its state is deleted, and subscribers are notified. The next message creates it again.'
            : 'Its state and history are deleted, and subscribers are notified. The next message creates it again.',
        action: 'Remove',
      },
      () => gate.request(topicPath(info.name, topic), { method: 'DELETE' }),
      word(`${topic} was removed`),
    )
    if (!isDone) return
    onRemoved()
    onClose()
  }
  return (
    <aside class="feed-panel" aria-labelledby={id}>
      <header>
        <h2 id={id} class="feed-topic" title={topic}>
          {topic}
        </h2>
        <Copy text={topic} label="Copy the topic" />
        {info.mayPublish && (
          <Menu
            label="Actions of the topic"
            items={[
              {
                title: 'Publish to this topic',
                icon: 'upload',
                act: () => go(href('streams', 'feeds', info.name, { topic, publish: topic })),
              },
              { title: 'Show code', icon: 'code', href: href('streams', 'feeds', info.name, 'code', { topic }) },
              { title: 'Remove', icon: 'trash', danger: true, act: () => void remove() },
            ]}
          />
        )}
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <Newest info={info} topic={topic} row={row} />
      {info.history === undefined ? (
        <p class="hint">
          {info.keep === 'latest'
            ? 'This feed keeps no history, only the newest message of each topic.'
            : 'This feed stores nothing: only messages that arrive while this page is open are shown.'}
        </p>
      ) : (
        <History info={info} topic={topic} kept={row?.messages} number={row?.newest?.number ?? 0} />
      )}
    </aside>
  )
}

/** From the subscription, or from the server if the topic is not on the page. */
function Newest({ info, topic, row }: Pick<Props, 'info' | 'topic' | 'row'>) {
  const received = row?.newest
  if (received === undefined)
    return isStored(info) ? <StoredState info={info} topic={topic} /> : <p class="hint">No message has arrived yet.</p>
  return <Message label={<PublishedTime at={row?.at} />} data={received.data} position={received.position} />
}

function StoredState({ info, topic }: Pick<Props, 'info' | 'topic'>) {
  const state = useLoad((signal) => readState(topicPath(info.name, topic), signal), [topic])
  return (
    <Await of={state} title="The newest message could not be read">
      {(message) =>
        message === 'none' ? (
          <p class="hint">This topic has no message: it expired, was removed, or nothing was published to it yet.</p>
        ) : (
          <Message label={<PublishedTime at={message.time} />} data={message.data} position={message.position} />
        )
      }
    </Await>
  )
}

async function readState(path: string, signal: AbortSignal): Promise<KeptMessage | 'none'> {
  try {
    return readMessage(await (await gate.request(path, { signal })).text())
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'feed.no_topic') return 'none'
    throw error
  }
}

function Message({
  label,
  data,
  position,
}: {
  readonly label: preact.ComponentChildren
  readonly data: string
  readonly position: string | undefined
}) {
  return (
    <section class="feed-newest" aria-label="Newest message">
      <h3>
        Newest message <span class="quiet">{label}</span>
      </h3>
      <Code label={position ? `Position ${position}` : 'Data'} text={pretty(data)} />
    </section>
  )
}

const COUNTS = ['20', '100', '1000'] as const
/** The history is read again at most so often. */
const READ_MS = 1_000

function History({
  info,
  topic,
  kept,
  number,
}: Pick<Props, 'info' | 'topic'> & {
  /** How many messages the topic has; undefined while it is not listed. */
  readonly kept: number | undefined
  /** Rises with each message. */
  readonly number: number
}) {
  const [last, setLast] = useState<(typeof COUNTS)[number]>('20')
  const seen = useEverySecond(number)
  const history = useLoad(
    async (signal) => {
      const response = await gate.request(`${topicPath(info.name, topic)}?last=${last}`, { signal })
      const messages = memberTexts(await response.text()).get('Messages') ?? '[]'
      return itemTexts(messages).map(readMessage).reverse()
    },
    [topic, last, seen],
  )
  return (
    <section class="feed-history" aria-label="History">
      <header>
        <h3>
          History{' '}
          {history.data !== undefined && (
            <span class="quiet">
              {shownText(history.data.length, kept)}
              <span class="wide-only">, newest first</span>
            </span>
          )}
        </h3>
        <Segments
          label="How many messages"
          value={last}
          onValue={setLast}
          choices={COUNTS.map((value) => ({
            value,
            title: count(Number(value)),
            label: `The newest ${count(Number(value))}`,
          }))}
        />
      </header>
      <Await of={history} title="The history could not be read">
        {(messages) =>
          messages.length === 0 ? (
            <p class="hint">No messages are kept: they have all expired, or the topic was removed.</p>
          ) : (
            <ol>
              {messages.map(({ time, data, position }) => (
                <li key={position}>
                  <details>
                    <summary>
                      <PublishedTime at={time} />{' '}
                      <code>
                        <JsonLine text={data.slice(0, 300)} />
                      </code>
                    </summary>
                    <Code label={`Position ${position}`} text={pretty(data)} />
                  </details>
                </li>
              ))}
            </ol>
          )
        }
      </Await>
    </section>
  )
}

function shownText(shown: number, kept = shown): string {
  return shown < kept ? word(`${count(shown)} of ${count(kept)}`) : count(shown)
}

/** A number that rises quickly, as it was at the last second. */
function useEverySecond(number: number): number {
  const [seen, setSeen] = useState(number)
  const current = useRef(number)
  current.current = number
  useEffect(() => {
    const timer = setInterval(() => setSeen(current.current), READ_MS)
    return () => clearInterval(timer)
  }, [])
  return seen
}

function readMessage(text: string): KeptMessage {
  const members = memberTexts(text)
  const memberText = (name: string) => String(JSON.parse(members.get(name) ?? '""'))
  return { time: memberText('Time'), position: memberText('Position'), data: members.get('Data') ?? 'null' }
}
