/** The code to paste, with the address of this server and the name of the feed. */
import { useState } from 'preact/hooks'
import { may } from '../../../gate.ts'
import { server } from '../../../server.ts'
import { href } from '../../../shell/router.ts'
import { Code, Notice, Section, Segments, TextField } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { type FeedInfo, isStored } from './feed.ts'
import { feedSnippets } from './snippets.ts'

const NEW_SERVICE = href('applications', 'new', { kind: 'service' })

export function CodePage({ info, topic: given }: { readonly info: FeedInfo; readonly topic: string }) {
  const [topic, setTopic] = useState(given)
  const snippets = feedSnippets(server.issuer, info.name, topic.trim() || 'ACME')
  const [chosen, setChosen] = useState(snippets[0]?.title ?? '')
  const shown = snippets.find(({ title }) => title === chosen)
  if (shown === undefined) return null
  return (
    <div class="feed-code">
      <div class="feed-code-bar">
        <Segments
          label="Language"
          value={shown.title}
          onValue={setChosen}
          choices={snippets.map(({ title }) => ({ value: title, title }))}
        />
        <TextField label="Topic" class="mono" placeholder="ACME" value={topic} onValue={setTopic} />
      </div>
      <Notice>
        <code>TOKEN</code> is an access token. {rightsText(info)}A program that acts for itself gets one as an
        application of the kind {may('Identity/Admin') ? <a href={NEW_SERVICE}>Service</a> : <em>Service</em>}.
      </Notice>
      <Section title="Publish">
        <Code label={shown.title} text={shown.publish} />
      </Section>
      <Section
        title="Subscribe"
        about={
          <>
            {isStored(info) && info.keep === 'latest' ? 'The newest message comes first. ' : ''}
            The topic can be a pattern: <code>*</code> for all topics, or <code>NYSE/*</code> for those that begin with{' '}
            <code>NYSE/</code>.
          </>
        }
      >
        <Code label={shown.title} text={shown.subscribe} />
      </Section>
    </div>
  )
}

function rightsText({ read, write }: FeedInfo): string {
  if (write === undefined || read === undefined) return ''
  return `To publish, it needs ${write}; to subscribe, ${read === 'identity' ? word('any scope of the platform') : read}. `
}
