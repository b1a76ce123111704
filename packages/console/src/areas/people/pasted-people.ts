/** People from a pasted list: a line each, from a spreadsheet, a CSV file or an address book. Independent of the page. */

export interface PastedPerson {
  readonly username: string
  readonly name: string
  readonly email: string
  /** Why they cannot be invited. */
  readonly fault: string | undefined
}

/** More at once would take too long to check by eye. */
export const MOST_PEOPLE = 200

type Column = 'username' | 'name' | 'email'

const HEADINGS: ReadonlyMap<string, Column> = new Map([
  ['username', 'username'],
  ['user', 'username'],
  ['login', 'username'],
  ['name', 'name'],
  ['full name', 'name'],
  ['email', 'email'],
  ['e-mail', 'email'],
  ['mail', 'email'],
  ['e-mail address', 'email'],
  ['email address', 'email'],
  ['benutzername', 'username'],
  ['benutzer', 'username'],
  ['vollständiger name', 'name'],
  ['e-mail-adresse', 'email'],
])

export function readPeople(text: string): readonly PastedPerson[] {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const columns = readHeadings(lines[0] ?? '')
  const taken = new Set<string>()
  return (columns === undefined ? lines : lines.slice(1)).map((line) => {
    const person = columns === undefined ? guess(line) : byColumns(splitCells(line), columns)
    const key = person.username.toLowerCase()
    const fault = findFault(person) ?? (taken.has(key) ? 'Twice in the list' : undefined)
    taken.add(key)
    return { ...person, fault }
  })
}

function readHeadings(line: string): readonly (Column | undefined)[] | undefined {
  const columns = splitCells(line).map((cell) => HEADINGS.get(cell.toLowerCase()))
  return columns.some((column) => column !== undefined) && !line.includes('@') ? columns : undefined
}

function splitCells(line: string): string[] {
  const separator = ['\t', ';', ','].find((candidate) => line.includes(candidate)) ?? '\t'
  return line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
}

function byColumns(cells: readonly string[], columns: readonly (Column | undefined)[]) {
  const cell = (wanted: Column) => cells[columns.indexOf(wanted)] ?? ''
  const [username, name, email] = [cell('username'), cell('name'), cell('email')]
  return { username: username === '' ? localPart(email) : username, name, email }
}

/** `Ada Lovelace <ada@example.com>`, `ada@example.com`, or cells in any order. */
function guess(line: string) {
  const [, named = '', address] = /^"?([^"<]*?)"?\s*<([^<>\s]+@[^<>\s]+)>[,;]?$/.exec(line) ?? []
  if (address !== undefined) return { username: localPart(address), name: named, email: address }
  const cells = splitCells(line).filter((cell) => cell !== '')
  const email = cells.find((cell) => cell.includes('@')) ?? ''
  const others = cells.filter((cell) => cell !== email)
  const username = others.find((cell) => !/\s/.test(cell)) ?? localPart(email)
  return { username, name: others.find((cell) => cell !== username) ?? '', email }
}

function localPart(email: string): string {
  return email.split('@', 1)[0] ?? ''
}

function findFault({ username, email }: { readonly username: string; readonly email: string }): string | undefined {
  if (username === '') return 'No username or e-mail address'
  if (/\s/.test(username)) return 'Spaces in the username'
  return email === '' || /^[^\s@]+@[^\s@]+$/.test(email) ? undefined : 'Not an e-mail address'
}
