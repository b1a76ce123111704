// NOT RUN: there was no .NET on the machine where the other samples were written and run, so nobody has compiled this file.
// Treat it as a sketch of the query and streaming protocols in C# (.NET 8 or later, no packages), and expect to mend it.
//
// In the folder of a new console project (dotnet new console), in place of Program.cs: dotnet run

using System.Net.Http.Headers;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;

var server = Environment.GetEnvironmentVariable("GATEHOUSE_SERVER") ?? "http://localhost:5080";
using var http = new HttpClient();

// Sign in as a service, with the client secret of the demonstration.
async Task<string> SignIn()
{
    using var reply = await http.PostAsync($"{server}/connect/token", new FormUrlEncodedContent(new Dictionary<string, string>
    {
        ["grant_type"] = "client_credentials",
        ["client_id"] = "demo-service",
        ["client_secret"] = "demo-service-secret",
        ["scope"] = "Platform/Market",
    }));
    var tokens = JsonNode.Parse(await reply.EnsureSuccessStatusCode().Content.ReadAsStringAsync())!;
    return (string)tokens["access_token"]!;
}

// Query. The statement is the body; the values of its parameters are p.NAME in the query string.
var token = await SignIn();
using var request = new HttpRequestMessage(HttpMethod.Post, $"{server}/query?p.first=ACME&p.second=BOLT")
{
    Content = new StringContent(
        "select symbol, count(*) as trades, sum(price * quantity) as turnover from trades " +
        "where symbol in (:first, :second) group by symbol order by symbol", Encoding.UTF8, "text/plain"),
};
request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);
using var answer = await http.SendAsync(request);
var result = JsonNode.Parse(await answer.EnsureSuccessStatusCode().Content.ReadAsStringAsync())!;
foreach (var row in result["Rows"]!.AsArray())
{
    // A Decimal is a text with all its digits, up to 38; System.Decimal holds 28. An Integer is a JSON number: read a long.
    var turnover = decimal.Parse((string)row!["turnover"]!, System.Globalization.CultureInfo.InvariantCulture);
    Console.WriteLine($"{row["symbol"]}: {(long)row["trades"]!} trades, turnover {turnover}");
}

// Stream: sign in on the connection, then subscribe to prices and to a live query.
using var socket = new ClientWebSocket();
socket.Options.AddSubProtocol("PlatformJson");
await socket.ConnectAsync(new Uri($"ws{server["http".Length..]}/Platform?version=1.1"), default);
var proof = new { Provider = "Bearer", AccessToken = token };
await Send(new { Controller = "Auth", Topic = "AuthToken", TransactionID = 1, Data = proof });

for (var prices = 0; prices < 3;)
{
    var message = await Receive();
    var data = message["Data"];
    if ((string?)message["Action"] == "Error") throw new Exception($"the server refused: {message.ToJsonString()}");
    if ((string?)message["Action"] == "Sub") continue; // the confirmation of a subscription
    if ((long?)message["TransactionID"] == 1)
    {
        if ((string?)data!["Result"] != "Success") throw new Exception("the token was rejected");
        await Send(new { Controller = "Ticker", Topic = "Price/ACME", Action = "Sub", TransactionID = 2, Confirm = true });
        await Send(new
        {
            Controller = "Query", Topic = "Live/turnover", Action = "Sub", TransactionID = 3, Confirm = true,
            Data = new { Statement = "select side, sum(price * quantity) as turnover from trades group by side", MaxRate = 5 },
        });
    }
    else if ((string?)message["Topic"] == "Price/ACME")
    {
        prices++;
        Console.WriteLine($"price: ACME {data!["Bid"]} / {data["Ask"]}");
    }
    // The other samples show how to apply Put and Remove of a live query to the rows that are held.
    else if ((string?)message["Topic"] == "Live/turnover") Console.WriteLine($"live: {data!.ToJsonString()}");
}
await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "", default);

async Task Send(object message)
{
    ReadOnlyMemory<byte> text = JsonSerializer.SerializeToUtf8Bytes(message);
    await socket.SendAsync(text, WebSocketMessageType.Text, true, default);
}

async Task<JsonNode> Receive()
{
    using var text = new MemoryStream();
    var buffer = new byte[8192];
    while (true)
    {
        var part = await socket.ReceiveAsync(buffer.AsMemory(), default);
        if (part.MessageType == WebSocketMessageType.Close)
            throw new Exception($"the stream was closed with {socket.CloseStatus}");
        text.Write(buffer, 0, part.Count);
        if (part.EndOfMessage) return JsonNode.Parse(text.ToArray())!;
    }
}
