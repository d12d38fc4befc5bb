// EASY backfilling as an external scheduler of netcosim (protocol version 1).
// g++ -O2 -std=c++17 -o easy easy.cpp
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

// A JSON value. In a program of your own, use a JSON library.
struct Json {
    double number = 0;
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> table;
};

static void blanks(const char*& at) {
    while (*at == ' ' || *at == ',' || *at == ':') ++at;
}

static std::string quoted(const char*& at) {
    std::string text;
    for (++at; *at && *at != '"'; ++at) {
        if (*at == '\\') ++at;
        text += *at;
    }
    ++at;
    return text;
}

static Json parse(const char*& at) {
    Json value;
    blanks(at);
    if (*at == '"') {
        value.text = quoted(at);
    } else if (*at == '[') {
        for (++at, blanks(at); *at && *at != ']'; blanks(at)) value.list.push_back(parse(at));
        ++at;
    } else if (*at == '{') {
        for (++at, blanks(at); *at && *at != '}'; blanks(at)) {
            std::string key = quoted(at);
            value.table[key] = parse(at);
        }
        ++at;
    } else {
        char* end;
        value.number = std::strtod(at, &end);
        while (*end >= 'a' && *end <= 'z') ++end;  // true, false, null
        at = end;
    }
    return value;
}

struct Job {
    long id, nodes;
    double walltime;
};

int main() {
    std::vector<Job> waiting;                            // in order of submission
    std::set<std::tuple<double, long, long>> running;    // promised end, id, nodes
    std::map<long, std::tuple<double, long, long>> promised;
    std::string line;
    while (std::getline(std::cin, line)) {
        const char* at = line.c_str();
        Json message = parse(at);
        const std::string& type = message.table["type"].text;
        if (type == "end") break;
        if (type == "hello") {
            std::puts("{\"protocol\": 1}");
            std::fflush(stdout);
            continue;
        }
        double now = message.table["now_s"].number, shadow = -1;
        long free = message.table["free"].number, extra = 0;
        for (Json& job : message.table["finished"].list) {
            auto found = promised.find(long(job.table["id"].number));
            running.erase(found->second);
            promised.erase(found);
        }
        for (Json& job : message.table["submitted"].list)
            waiting.push_back({long(job.table["id"].number), long(job.table["nodes"].number),
                               job.table["walltime_s"].number});
        std::string started;
        std::vector<Job> left;
        for (const Job& job : waiting) {
            bool blocked = shadow >= 0, late = blocked && now + job.walltime > shadow;
            if (job.nodes <= free && !(late && job.nodes > extra)) {
                if (late) extra -= job.nodes;
                free -= job.nodes;
                started += (started.empty() ? "" : ",") + std::to_string(job.id);
                auto entry = std::make_tuple(now + job.walltime, job.id, job.nodes);
                running.insert(promised[job.id] = entry);
                continue;
            }
            left.push_back(job);
            if (blocked) continue;
            // The first job that must wait: when can it start, and what does it leave?
            long then = free;
            shadow = now;
            for (auto& [end, id, nodes] : running) {
                if (end > shadow) {
                    if (then >= job.nodes) break;
                    shadow = end;
                }
                then += nodes;
            }
            extra = then - job.nodes;
        }
        waiting.swap(left);
        std::printf("{\"start\":[%s]}\n", started.c_str());
        std::fflush(stdout);
    }
}
