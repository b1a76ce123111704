/** Publishes a message: its topic, its data as JSON, and the position that it got. */
import { useId, useState } from 'preact/hooks'
import { GatehouseError } from '../../../../../client/src/index.ts'
import { gate } from '../../../gate.ts'
import { announce } from '../../../shell/announce.tsx'
import { href } from '../../../shell/router.ts'
import { Button, Copy, ErrorNotice, IconButton, Keys, Notice, TextArea, TextField, Time } from '../../../ui/index.ts'
import { pretty } from '../message-text.ts'
import { type FeedInfo, topicPath } from './feed.ts'
import { useEscape } from './use-escape.ts'

interface Published {
  readonly topic: string
  readonly at: number
  readonly position: string | undefined
}

/** Of a message that is offered to be changed, in characters. */
const LONGEST = 20_000
const EXAMPLE = '{\n  "last": "101.25"\n}'

export function PublishPanel({
  info,
  topic: given,
  newest,
  onPublished,
  onClose,
}: {
  readonly info: FeedInfo
  readonly topic: string
  /** The newest message of the topic, to be changed and published; undefined if it is not known. */
  readonly newest: string | undefined
  readonly onPublished: () => void
  readonly onClose: () => void
}) {
  const id = useId()
  useEscape(onClose)
  const [topic, setTopic] = useState(given)
  const [data, setData] = useState(() => (newest === undefined || newest.length > LONGEST ? EXAMPLE : pretty(newest)))
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [published, setPublished] = useState<Published>()
  const fault = jsonFault(data)
  const isComplete = topic !== '' && fault === undefined
  const publish = async () => {
    if (!isComplete || isBusy) return
    setBusy(true)
    setError(undefined)
    setPublished(undefined)
    try {
      const position = await send(info.name, topic, data)
      setPublished({ topic, at: Date.now(), position })
      announce(`Published to ${topic}`)
      onPublished()
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  const code = error instanceof GatehouseError ? error.code : undefined
  const atTopic = code === 'feed.bad_topic'
  const atData = code === 'feed.bad_message' || code === 'feed.message_too_large'
  const message = error instanceof Error ? error.message : undefined
  return (
    <aside class="feed-panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>Publish a message</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <form
        class="feed-publish"
        onSubmit={(event) => {
          event.preventDefault()
          void publish()
        }}
      >
        <TextField
          label="Topic"
          hint="Up to 256 characters. Separate levels with /, as in NYSE/ACME."
          placeholder="ACME"
          class="mono"
          error={atTopic ? message : undefined}
          value={topic}
          onValue={setTopic}
          required
          autofocus={given === ''}
        />
        <TextArea
          label="Data"
          hint="Any JSON value. Numbers keep all their digits."
          rows={10}
          class="mono"
          error={fault ?? (atData ? message : undefined)}
          value={data}
          onValue={setData}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
            event.preventDefault()
            void publish()
          }}
        />
        <div class="feed-publish-actions">
          <Button kind="plain" disabled={fault !== undefined} onClick={() => setData(pretty(data))}>
            Format the JSON
          </Button>
          <Button type="submit" kind="primary" busy={isBusy} disabled={!isComplete}>
            Publish <Keys of="Mod Enter" />
          </Button>
        </div>
      </form>
      {error !== undefined && !atTopic && !atData && (
        <ErrorNotice error={error} title="The message was not published" />
      )}
      {published !== undefined && <Result info={info} published={published} />}
    </aside>
  )
}

/** Sent again if the reply is lost: the key publishes it once. */
async function send(feed: string, topic: string, data: string): Promise<string | undefined> {
  const response = await gate.request(topicPath(feed, topic), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
    body: data,
    idempotent: true,
  })
  const { Position } = (await response.json()) as { readonly Position?: string }
  return Position
}

function Result({ info, published }: { readonly info: FeedInfo; readonly published: Published }) {
  const { topic, at, position } = published
  return (
    <Notice kind="good">
      Published to{' '}
      {info.mayRead ? <a href={href('streams', 'feeds', info.name, { topic })}>{topic}</a> : <code>{topic}</code>} at{' '}
      <Time at={at} as="time" />.
      {position !== undefined && (
        <span class="feed-position">
          Position <code>{position}</code> <Copy text={position} label="Copy the position" />
        </span>
      )}
    </Notice>
  )
}

/** What is wrong with a text that should be JSON. */
function jsonFault(text: string): string | undefined {
  if (text.trim() === '') return 'Write a JSON value, such as {"last": "101.25"} or null.'
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `Not JSON: ${error instanceof Error ? error.message : ''}`
  }
}
