-- For wrk: sends the raw requests of a file (a NUL between two) one after the other, and prints the figures as one line of JSON.
local requests, at = {}, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch("[^%z]+") do requests[#requests + 1] = request end
  file:close()
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"count":%d,"us":%d,"p50":%d,"p99":%d,"failures":%d}', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
