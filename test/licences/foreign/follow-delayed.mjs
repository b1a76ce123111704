/** Follows a topic with npm eventsource. After some events it prints them as JSON, each with the time at which it came. */
import { EventSource } from 'eventsource'

const [address = '', token, count] = process.argv.slice(2)
const authorization = `Bearer ${token}`
const source = new EventSource(address, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
})
const events = []
source.addEventListener('message', ({ data }) => {
  events.push({ at: Date.now(), message: JSON.parse(data) })
  if (events.length < Number(count)) return
  console.log(JSON.stringify(events))
  process.exit(0)
})
source.addEventListener('error', ({ code, message }) => console.error(`error ${code} ${message}`))
