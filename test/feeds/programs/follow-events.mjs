/** Follows a topic with npm eventsource, and prints the Data of each message on a line. GATEHOUSE_TOPIC is the address of the topic. */
import { EventSource } from 'eventsource'

const authorization = `Bearer ${process.env.GATEHOUSE_TOKEN}`
const events = new EventSource(process.env.GATEHOUSE_TOPIC, {
  fetch: (address, init) => fetch(address, { ...init, headers: { ...init.headers, authorization } }),
})
events.addEventListener('open', () => console.log('open'))
events.addEventListener('message', ({ data }) => console.log(String(JSON.parse(data).Data)))
events.addEventListener('error', ({ code, message }) => console.error(`error ${code} ${message}`))
// While the library waits to connect again, nothing else keeps the process running.
setInterval(() => {}, 60_000)
