/** What `gatehouse stream --help` says; apart, so that other commands do not load the client. */
export const STREAM_HELP = `
  ADDRESS               where the server is; http://localhost:5080 if not given
  --username NAME       signs this user in through the token endpoint; the password is asked for
  --password-file FILE  takes the password from the first line of a file, for use in a pipe
  --client ID           the client to sign in as; demo-cli if not given
  --token-file FILE     signs in with the access token in a file instead
  --version VERSION     protocol version; 1.1 if not given
  --wait SECONDS        in a pipe: how long to wait, after the input has ended, for answers and for messages of
                        subscriptions; 5 if not given

In a terminal, type "help" once connected. In a pipe, each line of stdin is a message (JSON, or what one types in the
terminal), each line of stdout is a message from the server. The session ends when every request is answered and nothing
is subscribed to, at the latest when the wait is over.

  gatehouse stream --username alice
  echo 'Platform/QueryServerInfo' | gatehouse stream
  echo 'sub Platform/ServerInfo' | gatehouse stream --wait 60
  echo '{"Controller":"Auth","Topic":"QueryIdentify","TransactionID":1}' | gatehouse stream --token-file token.txt
`
