/** The code to paste, with the address of this server and the name of the feed. */
import { useState } from 'preact/hooks'
import { server } from '../../../server.ts'
import { Code, Notice, Section, Segments, TextField } from '../../../ui/index.ts'
import { type FeedInfo, isStored } from './feed.ts'
import { snippetsOf } from './snippets.ts'

export function CodePage({ info, topic: given }: { readonly info: FeedInfo; readonly topic: string }) {
  const [topic, setTopic] = useState(given)
  const snippets = snippetsOf(server.issuer, info.name, topic.trim() || 'ACME')
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
        <TextField label="Topic" hideLabel class="mono" placeholder="Topic" value={topic} onValue={setTopic} />
      </div>
      <Notice>
        <code>TOKEN</code> is an access token{rightsText(info)}. A program gets one as an application of the kind{' '}
        <em>service</em>.
      </Notice>
      <Section title="Publish">
        <Code label={shown.title} text={shown.publish} />
      </Section>
      <Section
        title="Subscribe"
        about={
          <>
            {isStored(info) && info.keep === 'latest' ? 'The newest message comes first. ' : ''}
            The topic can be a pattern: <code>*</code> for all, or <code>NYSE/*</code> for those below NYSE.
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
  return `: publishing needs ${write}, subscribing ${read === 'identity' ? 'any right of the platform' : read}`
}
