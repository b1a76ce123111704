/** Publishes an event with the CloudEvents SDK for JavaScript, and prints the reply. GATEHOUSE_FEED is the address of a feed. */
const { CloudEvent, emitterFor, httpTransport, Mode } = require('cloudevents')

const emit = emitterFor(httpTransport(process.env.GATEHOUSE_FEED), { mode: Mode.STRUCTURED })
const event = new CloudEvent({
  id: process.env.EVENT_ID,
  source: '/test/javascript',
  type: 'order.filled',
  subject: 'ce/javascript',
  data: { filled: '10.50', by: 'cloudevents for JavaScript' },
})
emit(event, { headers: { authorization: `Bearer ${process.env.GATEHOUSE_TOKEN}` } }).then(({ body }) =>
  console.log(body),
)
