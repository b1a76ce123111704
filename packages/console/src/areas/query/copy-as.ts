/** A statement as the code that runs it: curl, TypeScript, Python. The token is left to the reader. */

/** Values by name, as they are typed; null is NULL. */
export type GivenParameters = Readonly<Record<string, string | null>>

export type CodeLanguage = 'curl' | 'typescript' | 'python'

export const LANGUAGES: readonly { readonly value: CodeLanguage; readonly title: string }[] = [
  { value: 'curl', title: 'curl' },
  { value: 'typescript', title: 'TypeScript' },
  { value: 'python', title: 'Python' },
]

export function codeFor(language: CodeLanguage, url: string, text: string, parameters: GivenParameters): string {
  const statement = text.trim()
  switch (language) {
    case 'curl':
      return curl(url, statement, parameters)
    case 'typescript':
      return typescript(url, statement, parameters)
    case 'python':
      return python(url, statement, parameters)
  }
}

function curl(url: string, statement: string, parameters: GivenParameters): string {
  const body = JSON.stringify({ Statement: statement, ...(hasAny(parameters) && { Parameters: parameters }) })
  return [
    `curl ${shellQuoted(`${url}/query`)}`,
    `-H "Authorization: Bearer $TOKEN"`,
    `-H 'Content-Type: application/json'`,
    `--data-raw ${shellQuoted(body)}`,
  ].join(' \\\n  ')
}

/** In single quotes nothing is special but the quote itself. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

const PACKAGE = "'gatehouse-client'"

function typescript(url: string, statement: string, parameters: GivenParameters): string {
  const given = hasAny(parameters) ? `, ${JSON.stringify(parameters, null, 2)}` : ''
  return `import { Gatehouse, getToken, statement } from ${PACKAGE}

const gate = new Gatehouse(${JSON.stringify(url)}, { auth: getToken(() => process.env.TOKEN ?? '') })
const rows = await gate.query(statement(${templateLiteral(statement)}${given}))
console.table(rows)
`
}

function templateLiteral(text: string): string {
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``
}

function python(url: string, statement: string, parameters: GivenParameters): string {
  const given = hasAny(parameters) ? `, "Parameters": ${pythonObject(parameters)}` : ''
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${pythonText(`${url}/query`)},
    data=json.dumps({"Statement": ${pythonText(statement)}${given}}).encode(),
    headers={"Authorization": f"Bearer {os.environ['TOKEN']}", "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    for row in json.load(response)["Rows"]:
        print(row)
`
}

function pythonObject(parameters: GivenParameters): string {
  const members = Object.entries(parameters).map(
    ([name, value]) => `${pythonText(name)}: ${value === null ? 'None' : pythonText(value)}`,
  )
  return `{${members.join(', ')}}`
}

/** Several lines stay lines. The escapes of JSON are also those of Python; quotes need none where they cannot end the text. */
function pythonText(text: string): string {
  const lines = text.split('\n').map((line) => JSON.stringify(line).slice(1, -1))
  if (lines.length === 1) return `"${lines[0]}"`
  const shown = lines.map((line) => (/\\"(\\"|$)/.test(line) ? line : line.replaceAll('\\"', '"')))
  return `"""${shown.join('\n')}"""`
}

function hasAny(parameters: GivenParameters): boolean {
  return Object.keys(parameters).length > 0
}
