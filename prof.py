import cProfile, pstats, sys, warnings, io, time
warnings.simplefilter('ignore')
sys.path.insert(0,'/tmp/s19')
import one
one.run('700')
name=sys.argv[1]; n=int(sys.argv[2]) if len(sys.argv)>2 else 45
p=cProfile.Profile(time.perf_counter); p.enable(); w,c,e=one.run(name); p.disable()
print(w,c)
s=io.StringIO(); st=pstats.Stats(p,stream=s)
st.sort_stats('cumulative').print_stats('kwis|lstsq|_fit|boost|gradient',n); 
print('\n'.join(l.replace('/work/wt/speed19/src/','') for l in s.getvalue().splitlines() if l.strip()))
s=io.StringIO(); st=pstats.Stats(p,stream=s)
st.sort_stats('tottime').print_stats(18); print(s.getvalue())
