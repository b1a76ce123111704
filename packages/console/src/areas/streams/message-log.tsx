/** The messages in both directions: filtered, paused, and one of them in full. */
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  bytes,
  Code,
  count,
  Empty,
  IconButton,
  SearchField,
  Segments,
  Switch,
  Time,
} from '../../ui/index.ts'
import { numberText } from '../../ui/number.ts'
import type { Entry, Inspector } from './inspector.ts'
import { JsonLine } from './json-line.tsx'
import { beginningOfData, pretty } from './message-text.ts'

/** Enough to scroll through; the rest is found by the filter. */
const SHOWN = 400

export function MessageLog({ inspector }: { readonly inspector: Inspector }) {
  const [filter, setFilter] = useState('')
  const [direction, setDirection] = useState<'all' | 'in' | 'out'>('all')
  const [withSignIn, setWithSignIn] = useState(false)
  const [chosen, setChosen] = useState<Entry>()
  // Read, so that it is drawn again.
  void inspector.version.value
  const isPaused = inspector.paused.value
  const found = inspector.entries.filter(
    (entry) =>
      (withSignIn || entry.controller !== 'Auth') &&
      (direction === 'all' || entry.direction === direction) &&
      (filter === '' || entry.text.toLowerCase().includes(filter.toLowerCase())),
  )
  const shown = found.slice(-SHOWN).reverse()
  const isEmpty = filter === '' && direction === 'all' && found.length === 0
  return (
    <section class="message-log" aria-label="Messages">
      <div class="message-bar">
        <SearchField label="Filter messages" value={filter} onValue={setFilter} />
        <Segments
          label="Direction"
          value={direction}
          onValue={setDirection}
          choices={[
            { value: 'all', title: 'All' },
            { value: 'in', title: 'Received' },
            { value: 'out', title: 'Sent' },
          ]}
        />
        <Switch label="Sign-in too" checked={withSignIn} onChecked={setWithSignIn} />
        <Button
          size="small"
          icon={isPaused ? 'play' : 'pause'}
          aria-pressed={isPaused}
          onClick={() => {
            inspector.paused.value = !isPaused
            inspector.missed.value = 0
          }}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
        <Button size="small" icon="trash" onClick={() => inspector.clear()}>
          Clear
        </Button>
        <span class="quiet message-count" role="status">
          {isPaused
            ? `Paused, ${count(inspector.missed.value)} not shown`
            : found.length > SHOWN
              ? `The newest ${SHOWN} of ${count(found.length)}`
              : found.length === 1
                ? '1 message'
                : `${count(found.length)} messages`}
        </span>
      </div>
      <div class="message-body">
        {shown.length === 0 ? (
          <Empty icon="stream" title={isEmpty ? 'No messages yet' : 'No message matches'}>
            {isEmpty
              ? 'Subscribe to a topic, or send a request: both directions are listed here.'
              : 'Change the filter or the direction.'}
          </Empty>
        ) : (
          <ol class="messages">
            {shown.map((entry) => (
              <li key={entry.number}>
                <button
                  type="button"
                  class={entry.number === chosen?.number ? 'message chosen' : 'message'}
                  aria-pressed={entry.number === chosen?.number}
                  onClick={() => setChosen(entry)}
                >
                  <span class={`arrow ${entry.direction}`}>
                    <span aria-hidden="true">{entry.direction === 'in' ? '↓' : '↑'}</span>
                    <span class="visually-hidden">{entry.direction === 'in' ? 'received' : 'sent'}</span>
                  </span>
                  <Time at={entry.at} as="time" />
                  <span class="message-name">
                    {entry.controller}/{entry.topic}
                  </span>
                  <Badge kind={tagKind(entry)}>{entry.operation}</Badge>
                  <span class="message-text">
                    <JsonLine text={beginningOfData(entry.text)} />
                  </span>
                  <span class="message-took quiet">{entry.took === undefined ? '' : `${tenths(entry.took)} ms`}</span>
                </button>
              </li>
            ))}
          </ol>
        )}
        {chosen !== undefined && (
          <aside class="message-detail" aria-label="Message">
            <header>
              <Time at={chosen.at} as="time" />
              <span class="quiet">
                {chosen.direction === 'in' ? 'received' : 'sent'}, {bytes(chosen.bytes)}
                {chosen.took !== undefined && `, ${tenths(chosen.took)} ms after its request`}
              </span>
              <IconButton icon="close" label="Close" onClick={() => setChosen(undefined)} />
            </header>
            <Code label="Message" text={pretty(chosen.text)} />
          </aside>
        )}
      </div>
    </section>
  )
}

function tagKind({ operation }: Entry): 'danger' | 'accent' | undefined {
  return operation === 'Error' ? 'danger' : operation === 'Publish' ? undefined : 'accent'
}

function tenths(number: number): string {
  return numberText(number.toFixed(1))
}
