/** The definition of a feed: to read and to change. */
import { useState } from 'preact/hooks'
import type { Tagged } from '../../../admin/tagged.ts'
import { toast } from '../../../shell/toasts.tsx'
import { Badge, Button, bytes, count, demandText, Facts, Section } from '../../../ui/index.ts'
import { Right } from '../../../ui/rights.tsx'
import { word } from '../../../ui/word.ts'
import { periodText } from '../period.ts'
import { DefinitionForm } from './definition-form.tsx'
import { buildPatch, draftFeed } from './draft.ts'
import { type FeedDefinition, readerText } from './feed.ts'

interface Props {
  readonly tagged: Tagged<FeedDefinition>
  readonly feed: FeedDefinition
}

export function Definition({ tagged, feed }: Props) {
  const [isEditing, setEditing] = useState(false)
  if (isEditing) return <EditDefinition tagged={tagged} feed={feed} onDone={() => setEditing(false)} />
  const { usage } = feed
  return (
    <Section
      title="Definition"
      actions={
        <Button size="small" icon="edit" onClick={() => setEditing(true)}>
          Edit
        </Button>
      }
    >
      <Facts
        of={[
          [word('Description'), feed.description ?? <span class="quiet">none</span>],
          ['Who can read', showScope(feed.read)],
          ['Who can publish', showScope(feed.write)],
          ['Sign-in for reading', demandText(feed.require_acr, feed.require_age)],
          ['Sign-in for publishing', demandText(feed.write_require_acr, feed.write_require_age)],
          [word('Keeps'), keptText(feed)],
          [
            word('History'),
            feed.history === undefined ? (
              <span class="quiet">none</span>
            ) : (
              `At most ${count(feed.history.messages)} messages per topic, each for ${periodText(feed.history.time)}`
            ),
          ],
          ...(feed.keep === 'latest'
            ? [
                [
                  'State expires',
                  feed.state_time === undefined ? word('Never') : word(`After ${periodText(feed.state_time)}`),
                ] as const,
              ]
            : []),
          [word('Class'), <Badge>{feed.class}</Badge>],
          [word('Topics'), used(usage?.topics, feed.topics, count)],
          [word('Storage'), used(usage?.bytes, feed.bytes, bytes)],
          ['Message size', `At most ${bytes(feed.message_bytes)}`],
          ['Messages per second', `At most ${count(feed.rate)}`],
          ...(feed.nats_subject === undefined ? [] : [['NATS subject', <code>{feed.nats_subject}</code>] as const]),
        ]}
      />
    </Section>
  )
}

function keptText({ keep, history }: FeedDefinition): string {
  if (keep === 'latest') return 'The newest message of each topic'
  return word(history === undefined ? 'Nothing; messages reach those who are subscribed' : 'Every message, as history')
}

function showScope(scope: string) {
  return scope === 'identity' ? readerText(scope) : <Right of={scope} />
}

function used(now: number | undefined, most: number, write: (number: number) => string): string {
  return now === undefined ? `At most ${write(most)}` : word(`${write(now)} of at most ${write(most)}`)
}

function EditDefinition({ tagged, feed, onDone }: Props & { readonly onDone: () => void }) {
  return (
    <Section
      title="Definition"
      about="Changes take effect at once: callers who can no longer read the feed lose their subscriptions, and messages beyond a shorter history or a lower limit are deleted."
    >
      <DefinitionForm
        draft={draftFeed(feed)}
        action="Save"
        failure="The feed was not changed"
        onSubmit={async (draft) => {
          await tagged.save(buildPatch(draft))
          toast(word(`${feed.name} was changed`))
          onDone()
        }}
        onCancel={onDone}
      />
    </Section>
  )
}
