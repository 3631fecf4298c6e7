-- For wrk: sends random requests of a file, in which NUL separates them, and prints the figures as one line of JSON.
local requests = {}

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch("[^%z]+") do requests[#requests + 1] = request end
  file:close()
  math.randomseed(tonumber(args[2]))
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"count":%d,"us":%d,"p50Ms":%.3f,"p99Ms":%.3f,"failures":%d}', summary.requests, summary.duration,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
