/** What differs between the demonstration and an installation, from the environment. */
export const {
  GATEHOUSE_SERVER: gatehouse = 'http://localhost:5080',
  CLIENT_ID: clientId = 'demo-web',
  CLIENT_SECRET: clientSecret = 'demo-web-secret',
  SESSION_SECRET: sessionSecret = 'only good enough for a sample',
  PORT: port = '5092',
  ORIGIN: origin = `http://localhost:${port}`,
} = process.env
