/** The code that publishes to a feed and follows it, with the address of this server. The token is left to the reader. */

export interface FeedSnippet {
  readonly title: string
  readonly publish: string
  readonly subscribe: string
}

export function feedSnippets(issuer: string, feed: string, topic: string): readonly FeedSnippet[] {
  const url = `${issuer}/feeds/${encodeURIComponent(feed)}/${encodeURIComponent(topic)}`
  return [
    { title: 'curl', ...curl(url) },
    { title: 'TypeScript', ...typescript(issuer, feed, topic) },
    { title: 'Python', ...python(url) },
  ]
}

function curl(url: string) {
  return {
    publish: `curl ${shellQuoted(url)} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  --data-raw '{"last": "101.25"}'`,
    subscribe: `curl -N ${shellQuoted(url)} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Accept: text/event-stream'`,
  }
}

/** In single quotes nothing is special but the quote itself. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function typescript(issuer: string, feed: string, topic: string) {
  const begin = `import { Gatehouse, getToken } from 'gatehouse-client'

const gate = new Gatehouse(${scriptText(issuer)}, { auth: getToken(() => process.env.TOKEN ?? '') })
`
  const object = `gate.feed(${scriptText(feed)})`
  return {
    publish: `${begin}await ${object}.publish(${scriptText(topic)}, { last: '101.25' })
gate.close()
`,
    subscribe: `${begin}for await (const { topic, data } of ${object}.subscribe(${scriptText(topic)})) console.log(topic, data)
`,
  }
}

function scriptText(text: string): string {
  return /['\\\n]/.test(text) ? JSON.stringify(text) : `'${text}'`
}

function python(url: string) {
  const token = `f"Bearer {os.environ['TOKEN']}"`
  return {
    publish: `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps({"last": "101.25"}).encode(),
    headers={"Authorization": ${token}, "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))
`,
    subscribe: `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    headers={"Authorization": ${token}, "Accept": "text/event-stream"},
)
with urllib.request.urlopen(request) as events:
    for line in events:
        if line.startswith(b"data:"):
            print(json.loads(line[5:]))
`,
  }
}
