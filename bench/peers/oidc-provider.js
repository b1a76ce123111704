// oidc-provider in memory, with one client.
import Provider from 'oidc-provider'

const port = Number(process.argv[2])
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'bench',
      client_secret: 'bench-secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
})
provider.listen(port, '127.0.0.1')
