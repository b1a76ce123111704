/** One topic: its newest message, its history, and its removal. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { confirmAndAttempt } from '../../../admin/tagged.ts'
import { gate } from '../../../gate.ts'
import { go, href } from '../../../shell/router.ts'
import { Await, Code, Copy, count, IconButton, Menu, Segments, useLoad } from '../../../ui/index.ts'
import { itemTexts, memberTexts } from '../json-text.ts'
import { pretty } from '../message-text.ts'
import { type FeedInfo, topicPath } from './feed.ts'
import { PublishedTime } from './published-time.tsx'
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
  const remove = async () => {
    const isDone = await confirmAndAttempt(
      {
        title: `Remove ${topic}?`,
        text: `Its state${info.history === undefined ? '' : ' and history'} are deleted, and subscribers are told. The next message to it begins it anew.`,
        action: 'Remove',
      },
      () => gate.request(topicPath(info.name, topic), { method: 'DELETE' }),
      `${topic} was removed`,
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
                title: 'Publish to it',
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
          This feed has no history: of each topic only{' '}
          {info.keep === 'latest' ? 'the newest message is kept' : 'what arrives is seen'}.
        </p>
      ) : (
        <History info={info} topic={topic} number={row?.newest?.number ?? 0} />
      )}
    </aside>
  )
}

/** From the subscription, or from the server if the topic is not on the page. */
function Newest({ info, topic, row }: Pick<Props, 'info' | 'topic' | 'row'>) {
  const received = row?.newest
  if (received === undefined) return <StoredState info={info} topic={topic} />
  return <Message label={<PublishedTime at={row?.at} />} data={received.data} position={received.position} />
}

function StoredState({ info, topic }: Pick<Props, 'info' | 'topic'>) {
  const state = useLoad(
    async (signal) => readMessage(await (await gate.request(topicPath(info.name, topic), { signal })).text()),
    [topic],
  )
  return (
    <Await of={state} title="The newest message could not be read">
      {({ time, data, position }) => <Message label={<PublishedTime at={time} />} data={data} position={position} />}
    </Await>
  )
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
  number,
}: Pick<Props, 'info' | 'topic'> & {
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
          History {history.data !== undefined && <span class="quiet">{count(history.data.length)}, newest first</span>}
        </h3>
        <Segments
          label="How many messages"
          value={last}
          onValue={setLast}
          choices={COUNTS.map((value) => ({ value, title: value, label: `The last ${value}` }))}
        />
      </header>
      <Await of={history} title="The history could not be read">
        {(messages) =>
          messages.length === 0 ? (
            <p class="hint">No message is kept: all have expired, or the topic was removed.</p>
          ) : (
            <ol>
              {messages.map(({ time, data, position }) => (
                <li key={position}>
                  <details>
                    <summary>
                      <PublishedTime at={time} /> <code>{data.slice(0, 300)}</code>
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
  const textOf = (name: string) => String(JSON.parse(members.get(name) ?? '""'))
  return { time: textOf('Time'), position: textOf('Position'), data: members.get('Data') ?? 'null' }
}
