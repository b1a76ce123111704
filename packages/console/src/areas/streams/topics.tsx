/** The topics that this token may use, by controller. */
import type { Signal } from '@preact/signals'
import { server } from '../../server.ts'
import { toastError } from '../../shell/toasts.tsx'
import { Await, Button, type Loaded } from '../../ui/index.ts'
import type { Inspector } from './inspector.ts'
import type { Draft } from './send-form.tsx'

export interface UsableController {
  readonly controller: string
  readonly summary: string
  readonly topics: readonly Topic[]
}

interface Topic {
  readonly topic: string
  readonly summary: string
  readonly needs: string
  readonly actions: readonly ('publish' | 'subscribe')[]
}

/** On a narrow screen the messages come below the topics, which are folded to keep them near. */
const isNarrow = matchMedia('(max-width: 760px)').matches

export function Topics({
  topics,
  inspector,
  draft,
}: {
  readonly topics: Loaded<readonly UsableController[]>
  readonly inspector: Inspector
  readonly draft: Signal<Draft>
}) {
  const choose = (controller: string, { topic, actions }: Topic) => {
    draft.value = {
      ...draft.value,
      mode: 'form',
      controller,
      topic: exampleTopic(controller, topic),
      operation: actions.includes('subscribe') ? 'Sub' : 'Publish',
      data: dataFor(controller, topic),
    }
  }
  const subscribe = (controller: string, topic: string) => {
    try {
      inspector.subscribe(controller, topic, toastError)
    } catch (error) {
      toastError(error)
    }
  }
  const actionsOn = (controller: string) => ({
    controller,
    onChoose: (topic: Topic) => choose(controller, topic),
    onSubscribe: (topic: Topic) => subscribe(controller, topic.topic),
  })
  return (
    <section class="topics" aria-label="Topics">
      <h2>Topics</h2>
      <Await of={topics} title="The topics could not be listed">
        {(items) => {
          const feeds = items.filter(({ topics: own }) => isFeed(own))
          return (
            <>
              {items
                .filter(({ topics: own }) => !isFeed(own))
                .map(({ controller, summary, topics: own }) => (
                  <details key={controller} open={controller !== 'Auth' && !isNarrow}>
                    <summary title={summary}>{controller}</summary>
                    <ul>
                      {own.map((topic) => (
                        <li key={topic.topic}>
                          <TopicRow of={topic} name={topic.topic} {...actionsOn(controller)} />
                        </li>
                      ))}
                    </ul>
                  </details>
                ))}
              {feeds.length > 0 && (
                <details open={!isNarrow}>
                  <summary>Feeds</summary>
                  <ul>
                    {feeds.map(({ controller, summary, topics: own }) =>
                      own.map((topic) => (
                        <li key={controller} title={summary}>
                          <TopicRow of={topic} name={`${controller}/*`} {...actionsOn(controller)} />
                        </li>
                      )),
                    )}
                  </ul>
                </details>
              )}
            </>
          )
        }}
      </Await>
    </section>
  )
}

/** Its topics are not listed: it has one line among the feeds. */
function isFeed(topics: readonly Topic[]): boolean {
  return topics.length === 1 && topics.every(({ topic, actions }) => topic === '*' && actions.includes('subscribe'))
}

function TopicRow({
  of: topic,
  name,
  controller,
  onChoose,
  onSubscribe,
}: {
  readonly of: Topic
  readonly name: string
  readonly controller: string
  readonly onChoose: (topic: Topic) => void
  readonly onSubscribe: (topic: Topic) => void
}) {
  return (
    <>
      <button type="button" class="topic" title={topic.summary} onClick={() => onChoose(topic)}>
        {name}
      </button>
      {topic.actions.includes('subscribe') && (topic.topic === '*' || !topic.topic.includes('*')) && (
        <Button
          size="small"
          kind="plain"
          aria-label={`Subscribe to ${controller}/${topic.topic}`}
          onClick={() => onSubscribe(topic)}
        >
          Subscribe
        </Button>
      )}
    </>
  )
}

/** A name in place of the asterisk, so that the form can be sent as it is; for feeds, `*` is all their topics. */
function exampleTopic(controller: string, topic: string): string {
  if (topic === '*') return topic
  if (controller === 'Query') return topic.replace('*', 'prices')
  return server.demo && controller === 'Ticker' ? topic.replace('*', 'ACME') : topic.replace('*', '')
}

/** An example where a topic needs data, so that its form can be sent as it is. */
function dataFor(controller: string, topic: string): string {
  return controller === 'Query' && topic === 'Live/*'
    ? '{"Statement":"select symbol, bid, ask from quotes limit 10"}'
    : ''
}
